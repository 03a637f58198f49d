"""Model organisms: copies of a subject that were trained to behave otherwise in one frame.

They show whether the protocol finds an effect where there is one, and none where there is none.
"""
