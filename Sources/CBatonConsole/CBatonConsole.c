// The files of the console as parts of the program. They stay real files, and the compiler notes them as dependencies,
// so a change of a file is a reason to compile again.
#include "CBatonConsole.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char style[] = {
#embed "assets/console.css"
};

static const unsigned char script[] = {
#embed "assets/console.js"
};

static const unsigned char icon[] = {
#embed "assets/icon.svg"
};

const unsigned char *baton_console_style(void) { return style; }

unsigned long baton_console_style_size(void) { return sizeof style; }

const unsigned char *baton_console_script(void) { return script; }

unsigned long baton_console_script_size(void) { return sizeof script; }

const unsigned char *baton_console_icon(void) { return icon; }

unsigned long baton_console_icon_size(void) { return sizeof icon; }
