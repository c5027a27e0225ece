#ifndef CBATONNOICU_H
#define CBATONNOICU_H
// There is nothing to call: see icudata.c.
#endif
