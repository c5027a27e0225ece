#ifndef CBATONAPI_H
#define CBATONAPI_H

/// The bytes of Documentation/openapi.yaml, which no zero ends.
const unsigned char *baton_openapi_text(void);
/// How many bytes there are.
unsigned long baton_openapi_size(void);

#endif
