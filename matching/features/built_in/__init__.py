"""The built-in detectors, `matching.settings.REGIONS`: each is a module of this folder with that name.

Its function ``make_detector(config)`` makes a `Detector` from the settings of the features, a
`FeatureConfig`.
"""
