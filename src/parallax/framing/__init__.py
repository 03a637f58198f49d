"""The framing half: does a model behave differently when it is told what a request is for?"""
