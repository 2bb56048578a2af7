"""Planted defects: does a test notice when the code is wrong in one place?"""
