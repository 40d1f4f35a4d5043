"""Answered questions: source of each page, its runs, and the pages made of them."""
