"""Ranking trees and ranking forests."""
