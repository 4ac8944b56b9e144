# corpus: kind=frameworks needs=tensorflow,numpy samples=- loaders=1 trains=- exit=0
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(77)
x = np.random.default_rng(77).standard_normal((64, 3)).astype(np.float32)
y = x @ np.float32([[1.0], [2.0], [3.0]])
dataset = (
    tf.data.Dataset.from_tensor_slices((x, y))
    .shuffle(64, seed=1)
    .map(lambda a, b: (a * 2, b), tf.data.AUTOTUNE)
    .batch(16)
    .prefetch(tf.data.AUTOTUNE)
)
weights = tf.Variable(tf.zeros((3, 1)))
for epoch in range(2):
    for a, b in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(a @ weights - b))
        weights.assign_sub(0.05 * tape.gradient(loss, weights))
    print(epoch, repr(float(loss)))
