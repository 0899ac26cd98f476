from .log import ClickLog as ClickLog
from .readers import read_clicks as read_clicks
from .simulation import simulate_clicks as simulate_clicks
from .ubi import read_ubi as read_ubi
