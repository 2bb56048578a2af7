"""What a phone is made of: its files, mounts, processes, emulation and sensors."""
