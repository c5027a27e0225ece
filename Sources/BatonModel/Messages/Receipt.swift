/// The number of commits that a store has made. Every answer that the store gave before the receipt is durable in the
/// store.
///
/// The number rises with every commit that changes something. If the store's number is lower than the last number that
/// a worker heard, the store went backwards (promise P12).
package struct Receipt: Hashable, Sendable {
  /// The incarnation of the store. The numbers of two incarnations cannot be compared.
  package var store: String
  /// The random name of the coordinator's tenure, which is drawn at each start. The number of commits alone is not
  /// enough: a coordinator that starts on an older copy goes on counting there, and soon has made as many commits as
  /// were lost.
  package var tenure: Int64
  /// The number of commits.
  package var sequence: Int64
  /// The coordinator's signature; empty until the receipt is signed. A receipt without a valid signature is ignored.
  package var seal: [UInt8]

  package init(store: String, tenure: Int64, sequence: Int64, seal: [UInt8] = []) {
    self.seal = seal
    self.store = store
    self.tenure = tenure
    self.sequence = sequence
  }

  /// Takes over `other` if it is later. A receipt of another store or tenure always replaces this one.
  package mutating func join(_ other: Receipt) {
    if other.store != store || other.tenure != tenure || other.sequence > sequence { self = other }
  }
}
