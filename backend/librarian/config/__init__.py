"""Here are a file, an environment and a command line. What does the user want?

`settings.Settings.load` answers; everything else here serves it. This room doesn't act on a setting: assembly does.
"""
