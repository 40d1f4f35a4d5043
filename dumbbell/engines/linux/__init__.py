"""The Linux kernel in virtual time: User-Mode Linux built from source, run as one process."""
