"""Draft and verify on toy models of known distribution: is speculation lossless?"""
