"""Textbook problems of few states: point masses, slides and oscillators, most with a closed form."""
