"""The program that runs models: its command line, exit status, log and dumped outputs."""
