"""A step for pipelines of datatrove that translates documents."""

from collections import deque
from itertools import islice

from datatrove.pipeline.base import PipelineStep

import dragoman


class Translate(PipelineStep):
    """Translates the lines of each document. metadata["source"] keeps the text.

    model is a model folder that every worker sees; search are keywords of dragoman.Translator, such as beam_size=4.
    """

    name = "Dragoman"
    type = "🌐 - TRANSLATE"

    def __init__(self, model, threads=1, **search):
        super().__init__()
        self.model, self.threads, self.search = model, threads, search

    def run(self, data, rank=0, world_size=1):
        # A worker opens the model for itself: steps are sent to workers before they run.
        translator = dragoman.Translator(dragoman.Model(self.model, threads=self.threads), **self.search)
        waiting = deque()

        def lines():
            for document in data:
                waiting.append(document)
                yield from document.text.split("\n")

        translations = translator.translate_iterable(lines())
        for first in translations:
            document = waiting.popleft()
            others = islice(translations, document.text.count("\n"))
            document.metadata["source"] = document.text
            document.text = "\n".join([first, *others])
            self.update_doc_stats(document)
            yield document
