"""The commands of `trajopt`, a file each: what each takes, does and prints."""
