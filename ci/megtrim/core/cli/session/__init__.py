"""What a command needs before it can work: configuration, engine, devices, host of the build."""
