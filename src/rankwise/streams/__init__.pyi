from .row_stream import RowStream as RowStream
from .row_stream import stream as stream
