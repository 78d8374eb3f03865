"""Serves CTranslate2 behind LibreTranslate's /translate, as its users do: by FastAPI, whose threads translate one request each.

  serving_rival.py PORT MODEL SENTENCEPIECE WORKERS THREADS COMPUTE BEAM"""
import sys

import ctranslate2
import fastapi
import sentencepiece
import uvicorn

port, folder, pieces, workers, threads, compute, beam = sys.argv[1:]
translator = ctranslate2.Translator(folder, compute_type=compute, inter_threads=int(workers), intra_threads=int(threads))
tokenizer = sentencepiece.SentencePieceProcessor(pieces)
app = fastapi.FastAPI()


@app.post("/translate")
def translate(body: dict):
    texts = body["q"] if isinstance(body["q"], list) else [body["q"]]
    sources = [[str(piece) for piece in tokenizer.encode(text)] for text in texts]  # the model adds the end itself
    results = translator.translate_batch(sources, beam_size=int(beam), max_decoding_length=256)
    found = [tokenizer.decode([int(piece) for piece in result.hypotheses[0]]) for result in results]
    return {"translatedText": found if isinstance(body["q"], list) else found[0]}


uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error")
