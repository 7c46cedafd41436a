"""What the cupy backend does: programs laid out for a device, and CUDA kernels; docs/gpu.md."""
