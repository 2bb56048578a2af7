"""The program that runs models: its command line, how it ended, its log, its dumped outputs."""
