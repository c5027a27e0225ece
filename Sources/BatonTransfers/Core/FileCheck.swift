package import BatonModel

/// Decides whether a file that has arrived is the one that its transfer asks for.
package enum FileCheck {
  /// - Parameters:
  ///   - isWhole: whether the file came in one piece. Pieces of different versions may have been put together by a
  ///     server that does not tell them apart, so a wrong file of several pieces is fetched once more, as a whole.
  /// - Returns: `nil` if the file is right.
  package static func problem(of transfer: Transfer, bytes: Int64, sha256: String, isWhole: Bool) -> AttemptEnd? {
    let end: TransferFailure
    if let size = transfer.size, size != bytes {
      end = TransferFailure(
        .wrongSize, "The file has \(bytes) bytes, but the transfer says \(size). Correct 'size', or the file.")
    } else if let expected = transfer.sha256, expected != sha256 {
      end = TransferFailure(
        .wrongHash,
        "The file has the SHA-256 \(sha256), but the transfer says \(expected). Correct 'sha256', or the file."
      )
    } else {
      return nil
    }
    return isWhole ? .failed(end) : .startOver("\(end.text) It came in several pieces.", rangesLie: true)
  }
}
