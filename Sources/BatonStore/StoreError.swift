/// What a store could not do, and why.
package struct StoreError: Error, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    /// No such definition, request, launch or host.
    case notFound
    /// `remove` while requests are unfinished, `retry` of a request that did not fail, a lease that would overlap …
    case refused
    /// The database was written by a newer version.
    case newerVersion
    /// Another process has the store open.
    case locked
    /// The folder cannot be written, or the disk is full: nothing was changed.
    case cannotWrite
    /// The disk failed in the middle: whether the change is there is unknown until the store is opened again.
    case unknown
    /// The file is not a Baton database, or it is damaged.
    case corrupt
    /// Another process has opened the store meanwhile, or its files were taken away: nothing was changed, and nothing can
    /// be any more.
    case superseded
    /// Too many writes wait already: nothing was changed, and the message says when to try again.
    case overloaded
  }

  package var code: Code
  package var message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}
