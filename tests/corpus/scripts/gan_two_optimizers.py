# corpus: kind=models needs=torch samples=80 loaders=1 trains=dataloader exit=0
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(999)
latent = 3
netG = nn.Sequential(nn.Linear(latent, 8), nn.ReLU(), nn.Linear(8, 2), nn.Tanh())
netD = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1), nn.Sigmoid())
criterion = nn.BCELoss()
dataloader = DataLoader(TensorDataset(torch.rand(40, 2)), batch_size=16, shuffle=True)
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
for epoch in range(2):
    for i, data in enumerate(dataloader, 0):
        real = data[0]
        netD.zero_grad()
        errD_real = criterion(netD(real), torch.ones(len(real), 1))
        errD_real.backward()
        fake = netG(torch.randn(len(real), latent))
        errD_fake = criterion(netD(fake.detach()), torch.zeros(len(real), 1))
        errD_fake.backward()
        optimizerD.step()
        netG.zero_grad()
        errG = criterion(netD(fake), torch.ones(len(real), 1))
        errG.backward()
        optimizerG.step()
    print(epoch, repr((errD_real + errD_fake).item()), repr(errG.item()))
