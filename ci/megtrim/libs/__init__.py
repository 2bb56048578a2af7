"""Libraries that know nothing of trimming: files, programs and forms."""
