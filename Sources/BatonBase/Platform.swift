// The C library of the platform. A file that calls it imports BatonBase, so that the choice of the platform stands here
// only.
#if canImport(Glibc)
  @_exported public import Glibc
#elseif canImport(Musl)
  @_exported public import Musl
#else
  @_exported public import Darwin
#endif
