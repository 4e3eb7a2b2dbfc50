"""The command of the outbox: `krag-eval langfuse-resend`."""
