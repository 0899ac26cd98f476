"""Ranking trees and forests of them."""
