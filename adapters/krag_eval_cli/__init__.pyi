from .running import main as main
