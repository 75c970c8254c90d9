//! A child that is no Node of ours: it speaks the wire as badly as it likes. The supervisor keeps its verdicts, its time and its memory.

mod armed;
mod child;
mod ends;
mod floods;
mod frames;
mod vectors;
