// An empty table in place of the 31 MB of languages, calendars and time zones that ICU brings into a program with a
// static Swift runtime. The worker's program shows nothing in a language and computes with UTC, but the parser of YAML
// imports all of Foundation, and Foundation needs the table to be linked.
//
// The linker takes this table instead of the one in Foundation's library, because it sees this one first. With a shared
// runtime the table has no effect: it is hidden from the libraries. If another version of Swift has another version of
// ICU, the name is another one, and the program is only larger.
//
// The layout is that of stubdata.cpp of ICU (https://github.com/unicode-org/icu): a header that says "table of contents",
// and no entry.
#include "CBatonNoICU.h"

#include <stdint.h>

struct table {
  uint16_t header_size;
  uint8_t magic[2];
  uint16_t info_size, reserved_word;
  uint8_t is_big_endian, charset_family, char_size, reserved_byte;
  uint8_t format[4], format_version[4], data_version[4];
  uint8_t padding[8];
  uint32_t count, reserved;
  int32_t names_and_data[4];
};

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
__attribute__((visibility("hidden"), used, aligned(16))) const struct table icudt76_dat = {
    .header_size = 32,
    .magic = {0xda, 0x27},
    .info_size = 20,
    .char_size = 2,
    .format = {'T', 'o', 'C', 'P'},
    .format_version = {1},
};
#endif
