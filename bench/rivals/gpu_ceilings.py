"""Prints as JSON what a GPU does at most, as PyTorch sees it: {"flops": of bf16 products, "bytes": read and written by copies}, each per second."""
import json

import torch


def seconds(work, runs=20):
    for _ in range(3):
        work()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(runs):
        work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1000 / runs


def main():
    size = 8192
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    flops = 2 * size ** 3 / seconds(lambda: a @ b)
    source = torch.empty(1 << 30, device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    print(json.dumps({"flops": flops, "bytes": 2 * source.numel() / seconds(lambda: target.copy_(source))}))


if __name__ == "__main__":
    main()
