import BatonModel
import Crypto

/// Signs receipts with the key in the store's folder (HMAC-SHA256), so that a worker can only bring back a receipt
/// that a coordinator of this store has made. A single forged receipt from the future would pause the fleet.
package struct ReceiptSeal: Sendable {
  private let key: SymmetricKey

  /// - Parameter key: the key of the store; nil draws a random key, with which receipts of other coordinators are not
  ///   valid.
  package init(_ key: [UInt8]?) { self.key = key.map { SymmetricKey(data: $0) } ?? SymmetricKey(size: .bits256) }

  func sealed(_ receipt: Receipt) -> Receipt {
    var receipt = receipt
    receipt.seal = Array(HMAC<SHA256>.authenticationCode(for: Self.text(receipt), using: key))
    return receipt
  }

  /// True if this key signed the receipt. The comparison takes the same time wherever the seals differ.
  func isGenuine(_ receipt: Receipt) -> Bool {
    HMAC<SHA256>.isValidAuthenticationCode(receipt.seal, authenticating: Self.text(receipt), using: key)
  }

  /// A text that all coordinators with this key have, and no others. It says nothing of the key.
  package var fleet: String {
    HMAC<SHA256>.authenticationCode(for: Array("baton fleet 1".utf8), using: key).prefix(16)
      .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// The bytes that are signed. The name is at the end, because it is the only part with a variable length.
  private static func text(_ receipt: Receipt) -> [UInt8] {
    var text = Array("baton receipt 1\0".utf8)
    for number in [receipt.tenure, receipt.sequence] {
      withUnsafeBytes(of: number.bigEndian) { text.append(contentsOf: $0) }
    }
    return text + Array(receipt.store.utf8)
  }
}
