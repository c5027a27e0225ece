/// An error of a store. The code says what a caller can do about it, and the message is for people.
package struct StoreError: Error, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    /// There is no such definition, request, launch or host.
    case notFound
    /// The store's state does not permit the operation: for example `remove` while requests are unfinished, `retry` of
    /// a request that did not fail, or a lease that would overlap another.
    case refused
    /// A newer version has made or changed the database, which takes no writes of this version. Nothing was changed,
    /// and this process can write nothing more.
    case newerVersion
    /// Another process has the store open.
    case locked
    /// The folder cannot be written, or the disk is full. Nothing was changed.
    case cannotWrite
    /// The disk failed during the write. Whether the change was made is unknown until the store is opened again.
    case unknown
    /// The file is not a Baton database, or it is damaged.
    case corrupt
    /// Another coordinator has ended this one's tenure, or the store's files were removed or replaced. Nothing was
    /// changed, and this process can write nothing more.
    case superseded
    /// The store lacks a commit that this process has made: it went backwards. Nothing was changed except that the
    /// fleet is paused and the store has another name, and this process can write nothing more.
    case wentBackwards
    /// Another coordinator, or another worker process, has what this call is about: a host's lease, or a duty of the
    /// steward. Nothing was changed; the caller forgets it.
    case moved
    /// The store has moved to another place, where this coordinator goes on when it is started again. Nothing can be
    /// written here any more.
    case relocated
    /// The store cannot be reached. Nothing was changed; the same call may succeed later.
    case unavailable
    /// Too many writes wait already. Nothing was changed; the message says when to try again.
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
