# corpus: kind=processes needs=torch samples=40 loaders=2 trains=train exit=0 run="-m digits_package --epochs 2"
import sys

from digits_package.training import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
