"""What ``slm2 bench`` measures with: subjects, measures, texts, and the run that compares them in one sitting.

``subjects``, ``measures``, ``texts``, ``worker`` and ``start`` also run under other interpreters than the one that drives, where slm2
is not installed and where its import must not be paid before it is measured. They import each other relatively, and slm2 not at all.
"""
