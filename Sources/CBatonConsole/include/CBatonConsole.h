#ifndef CBATONCONSOLE_H
#define CBATONCONSOLE_H

/// The bytes of the console's style sheet, script and icon, which no zero ends, and how many there are.
const unsigned char *baton_console_style(void);
unsigned long baton_console_style_size(void);
const unsigned char *baton_console_script(void);
unsigned long baton_console_script_size(void);
const unsigned char *baton_console_icon(void);
unsigned long baton_console_icon_size(void);

#endif
