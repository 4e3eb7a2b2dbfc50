"""There is no public name: pytest loads the plugin."""
