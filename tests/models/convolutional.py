"""ResNet (He et al. 2015, the v1.5 stride placement) and MobileNetV2 (Sandler et al. 2018), inference
graphs with batch normalisation already folded, as exporters write them."""
import numpy as np

from builder import Builder


def _classifier(b, x, width, classes):
    x = b.op("GlobalAveragePool", [x])
    x = b.op("Flatten", [x], axis=1)
    w = b.weight("fc.weight", (classes, width), (1.6 / width) ** 0.5)
    return b.op("Gemm", [x, w, b.weight("fc.bias", (classes,), 0.05)], transB=1)


def _residual(b, x, shortcut):
    return b.op("Relu", [b.op("Add", [x, shortcut])])


def resnet(name, blocks, bottleneck, batch, size, seed, width=64):
    b = Builder(name, seed)
    x = b.input("x", [batch, 3, size, size])
    x = b.op("Relu", [b.conv(x, "conv1", 3, width, 7, 2)])
    x = b.op("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    cin, expansion = width, 4 if bottleneck else 1
    for stage, count in enumerate(blocks):
        mid = width << stage
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            p = f"layer{stage + 1}.{block}"
            if bottleneck:
                y = b.op("Relu", [b.conv(x, f"{p}.conv1", cin, mid, 1)])
                y = b.op("Relu", [b.conv(y, f"{p}.conv2", mid, mid, 3, stride)])
                y = b.conv(y, f"{p}.conv3", mid, mid * 4, 1)
            else:
                y = b.op("Relu", [b.conv(x, f"{p}.conv1", cin, mid, 3, stride)])
                y = b.conv(y, f"{p}.conv2", mid, mid, 3)
            cout = mid * expansion
            shortcut = x if cin == cout and stride == 1 else b.conv(x, f"{p}.down", cin, cout, 1, stride)
            x, cin = _residual(b, y, shortcut), cout
    return b.model([(_classifier(b, x, cin, 1000), [batch, 1000])])


def mobilenet_v2(name, batch, size, seed):
    b = Builder(name, seed)
    six = [b.constant(np.array(v, np.float32)) for v in (0.0, 6.0)]

    def relu6(x):
        return b.op("Clip", [x] + six)

    x = b.input("x", [batch, 3, size, size])
    x = relu6(b.conv(x, "features.0", 3, 32, 3, 2))
    cin, index = 32, 1
    for expand, cout, repeat, first_stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                               (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for r in range(repeat):
            stride, p, mid = first_stride if r == 0 else 1, f"features.{index}", cin * expand
            y = x if expand == 1 else relu6(b.conv(x, f"{p}.expand", cin, mid, 1))
            y = relu6(b.conv(y, f"{p}.depthwise", mid, mid, 3, stride, group=mid))
            y = b.conv(y, f"{p}.project", mid, cout, 1)
            x = b.op("Add", [x, y]) if stride == 1 and cin == cout else y
            cin, index = cout, index + 1
    x = relu6(b.conv(x, "features.18", cin, 1280, 1))
    return b.model([(_classifier(b, x, 1280, 1000), [batch, 1000])])
