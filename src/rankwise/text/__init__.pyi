from .analyzer import Analyzer as Analyzer
from .collections import TextCollection as TextCollection
from .collections import from_ir_datasets as from_ir_datasets
from .collections import load_text as load_text
from .collections import read_beir as read_beir
from .query_document_features import QueryDocumentFeatures as QueryDocumentFeatures
from .text_index import TextIndex as TextIndex
from .text_ranker import TextRanker as TextRanker
