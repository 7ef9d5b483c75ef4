"""Every file of a segment. The format is versioned; readers refuse versions they do not know.

All numbers are little-endian. ``units``, ``parts`` and ``documents`` are numbered from 0 in the order in which they
came; units of a part, and parts of a document, are contiguous. Character offsets are code points of the document.

========================  ============================================================================================
``manifest.json``         counts, recipe, format version, and size and SHA-256 of every other file
``vectors.i8``            int8 [units, dim]: unit vectors, quantised (``models.ops.quantization``)
``scales.f32``            float32 [units]: the value of one step of a unit's int8 vector
``norms.u8``              uint8 [blocks, lengths, BLOCK]: codes of inverse span norms; see below
``norms.f32``             float32 [blocks, lengths, 2]: offset and step that turn a code into an inverse norm
``norm_errors.f32``       float32 [blocks]: what the block's codes and float32 sums may put into a cosine
``unit_spans.u32``        uint32 [units, 2]: character span of every unit
``borders.u8``            uint8 [units]: the border codes of every unit (``models.text.borders``)
``parts.arrow``           Arrow IPC, a row a part: ``document``, ``first_unit``, ``start``, ``end``, metadata columns
``documents.arrow``       Arrow IPC, a row a text: ``id``, ``content_hash``, ``first_part``, ``text_start``, metadata
``text.zst``              the concatenated texts of all documents in Zstandard frames of TEXT_BLOCK code points
``windows.faiss``         FAISS index of windows (``indexer.ann.windows``); large collections alone have it
``text_blocks.u64``       uint64 [frames + 1, 3]: where a frame begins in ``text.zst``, in UTF-8 bytes, in UTF-16 units
========================  ============================================================================================

Inverse norms. Units are taken in blocks of BLOCK, wherever parts begin and end. ``norms.u8[b, l, i]`` is for the span
that starts at unit ``b * BLOCK + i`` and has the ``l``-th length of the recipe. Code 0 means that there is no such
span: it would cross the end of its part, or its vectors cancel out. Every other code stands for
``offset + step * code``. Spans of one length lie beside each other because that is how the scan reads them.

Representations besides units add files of their own, which ``files.py`` of their packages describe. In a collection
that does not store its texts, ``text.zst`` is empty.

Segments of before version 0.3 have no ``borders.u8``.

Metadata columns are named ``meta:KEY`` and hold the value as canonical JSON, dictionary-encoded; null means absent.
"""

from indexer.arrays import BLOCK as BLOCK

FORMAT_VERSION = 1
TEXT_BLOCK = 16_384
# Of a frame of texts: a code point takes four bytes at most.
MOST_BYTES = 4 * TEXT_BLOCK

MANIFEST = "manifest.json"
VECTORS = "vectors.i8"
SCALES = "scales.f32"
NORM_CODES = "norms.u8"
NORM_AFFINE = "norms.f32"
NORM_ERRORS = "norm_errors.f32"
UNIT_SPANS = "unit_spans.u32"
BORDERS = "borders.u8"
PARTS = "parts.arrow"
DOCUMENTS = "documents.arrow"
TEXT = "text.zst"
TEXT_BLOCKS = "text_blocks.u64"
WINDOWS = "windows.faiss"

METADATA_PREFIX = "meta:"
