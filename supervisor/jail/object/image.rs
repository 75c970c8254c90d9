//! The program's code, moved into huge pages of this process's own.
//!
//! A fork gets no page table entries for the pages of a file: it would take a fault for every stretch of Node's code that its run comes by, and its end would
//! undo them one by one. Of a huge page of one's own it gets the one entry, at once. So a template moves its code, and its forks find it in place: a third of
//! the faults of a run and a quarter of its processor time. Done before the step after which no memory may become executable; only this object runs by then,
//! and it is not what is moved.

use crate::nr;
use crate::sys::{Answer, Errno, call};

#[link(name = "c")]
unsafe extern "C" {
    fn getauxval(kind: usize) -> usize;
}

/// Size of a huge page: the kernel's, with pages of 4 KiB, on x86_64 and aarch64.
const HUGE: usize = 2 << 20;

/// Moves the whole huge pages inside the program's executable segments; gives the bytes moved. Where the host has no huge pages to give, the code stays in its file.
pub fn move_to_huge_pages() -> Result<u64, (u64, Errno)> {
    let headers = program_headers();
    // A program that can lie anywhere says where it wants its headers, and here they are.
    let at = headers.as_ptr() as usize;
    let base = headers.iter().find(|header| header.kind == ProgramHeader::SELF).map_or(0, |header| at.wrapping_sub(header.address));
    let mut moved = 0;
    for header in headers.iter().filter(|header| header.is_code()) {
        let from = base.wrapping_add(header.address);
        let (first, end) = (from.next_multiple_of(HUGE), (from + header.size) / HUGE * HUGE);
        if first < end {
            replace_code(first, end - first).map_err(|errno| (moved, errno))?;
            moved += (end - first) as u64;
        }
    }
    Ok(moved)
}

/// One header of an ELF program: `Elf64_Phdr`.
#[repr(C)]
struct ProgramHeader {
    /// `PT_*`.
    kind: u32,
    flags: u32,
    offset: usize,
    /// Where it wants to lie.
    address: usize,
    physical: usize,
    file_size: usize,
    /// Bytes in memory.
    size: usize,
    align: usize,
}

impl ProgramHeader {
    /// The header that says where the headers are.
    const SELF: u32 = 6;

    /// Whether it is code: loaded, executable, never written to.
    fn is_code(&self) -> bool {
        const LOAD: u32 = 1;
        const EXECUTE: u32 = 1;
        const WRITE: u32 = 2;
        self.kind == LOAD && self.flags & (EXECUTE | WRITE) == EXECUTE
    }
}

/// The headers of the program, as the kernel has loaded them.
fn program_headers() -> &'static [ProgramHeader] {
    const AT_PHDR: usize = 3;
    const AT_PHENT: usize = 4;
    const AT_PHNUM: usize = 5;
    // SAFETY: getauxval takes any number. The kernel says where the headers lie, how large one is and how many there are; they are never written to.
    unsafe {
        let (address, size, count) = (getauxval(AT_PHDR), getauxval(AT_PHENT), getauxval(AT_PHNUM));
        if address == 0 || size != size_of::<ProgramHeader>() {
            return &[];
        }
        core::slice::from_raw_parts(address as *const ProgramHeader, count)
    }
}

/// Puts a copy in huge pages in the place of the code at `address`, or leaves it as it is.
fn replace_code(address: usize, length: usize) -> Result<(), Errno> {
    const READ_WRITE: usize = 3;
    const PRIVATE_ANONYMOUS: usize = 0x22;
    // One huge page more than is wanted, so that an aligned part of the right length lies inside wherever the kernel puts it.
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that is there.
    let room = unsafe { call(nr::MMAP, [0, length + HUGE, READ_WRITE, PRIVATE_ANONYMOUS, usize::MAX, 0]) }? as usize;
    let copy = room.next_multiple_of(HUGE);
    let put = put_code(copy, address, length);
    // What is left of the room: all around the copy, or, when it failed, all of it.
    let rest = if put.is_ok() { [(room, copy - room), (copy + length, room + HUGE - copy)] } else { [(room, length + HUGE), (0, 0)] };
    for (at, bytes) in rest.into_iter().filter(|(_, bytes)| *bytes > 0) {
        // SAFETY: a part of the mapping made above that nobody has a reference to.
        let _ = unsafe { call(nr::MUNMAP, [at, bytes, 0, 0, 0, 0]) };
    }
    put.map(|_| ())
}

/// Fills the new mapping at `copy` and moves it over the code at `address`.
fn put_code(copy: usize, address: usize, length: usize) -> Answer {
    const READ_EXECUTE: usize = 5;
    const MADV_HUGEPAGE: usize = 14;
    const MADV_COLLAPSE: usize = 25;
    const MAYMOVE_FIXED: usize = 3;
    // SAFETY: `length` bytes from `copy` on are the new mapping of replace_code, with no reference to it. `length` bytes from `address` on lie in a loaded segment
    // (image::move_to_huge_pages), which may be read. This is the only thread, and until the pages are moved it runs code of this object, of libc and of the
    // kernel: none of it is what is replaced, and every byte of what is comes back the same.
    unsafe {
        call(nr::MADVISE, [copy, length, MADV_HUGEPAGE, 0, 0, 0])?;
        core::ptr::copy_nonoverlapping(address as *const u8, copy as *mut u8, length);
        // In small pages the copy would cost each fork more than the file does. This makes them huge where they are not, or says that they are not to be had.
        call(nr::MADVISE, [copy, length, MADV_COLLAPSE, 0, 0, 0])?;
        call(nr::MPROTECT, [copy, length, READ_EXECUTE, 0, 0, 0])?;
        call(nr::MREMAP, [copy, length, length, MAYMOVE_FIXED, address, 0])
    }
}
