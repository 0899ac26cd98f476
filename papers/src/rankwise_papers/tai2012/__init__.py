"""Principal label space transformation (Tai & Lin 2012): its tables and curves, run again."""
