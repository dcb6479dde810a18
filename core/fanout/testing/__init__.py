"""What tests and benchmarks share: virtual time, a scripted API, fake disks."""
