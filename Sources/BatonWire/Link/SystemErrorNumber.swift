import GRPCCore
import NIOCore

extension Error {
  /// What the system said (errno(3)), if that is the cause.
  package var systemErrorNumber: Int32? {
    if let error = self as? IOError { return error.errnoCode }
    return (self as? RuntimeError)?.cause?.systemErrorNumber
  }
}
