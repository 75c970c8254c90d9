//! What the tests of codemode share.
