"""What maintains the repository; no part of the package."""
