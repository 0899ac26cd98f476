"""Certificates of parity: exported files scored as the programs that read them do."""
