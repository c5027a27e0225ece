// The description of the HTTP API as a part of the program. #embed compiles in a moment, where an array in Swift takes
// many seconds. The compiler notes the file as a dependency, so a change of the file is a reason to compile again.
#include "CBatonAPI.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char text[] = {
#embed "../../Documentation/openapi.yaml"
};

const unsigned char *baton_openapi_text(void) { return text; }

unsigned long baton_openapi_size(void) { return sizeof text; }
