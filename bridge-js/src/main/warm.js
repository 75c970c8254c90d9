// Work done before the gate because it needs something that is gone behind it (files), or because in a template it is then paid once for all forks.

export const warm = (take, realm, template) => {
  realm.guest.warm(template);
};
