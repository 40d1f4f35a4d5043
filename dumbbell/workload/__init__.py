"""Workloads: experiments made of captures (`derive`, `file`) and of HAR files (`har`)."""
